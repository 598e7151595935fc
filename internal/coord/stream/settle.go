package stream

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// messageName names a message that was delivered to a group.
type messageName struct {
	groupName
	id string
}

func (m messageName) lease() lease.ID {
	return lease.ID{Noun: noun, Name: m.groupName.lease(), Token: m.id}
}

// settled ends the flight of a message whose delivery has ended, and returns its group, nil if this
// sidecar takes no part in it.
func (d *delivery) settled(m messageName) *group {
	g := d.find(m.groupName)
	if g != nil {
		g.land(m.id)
	}
	return g
}

// Ack ends the delivery of a message that was processed, whichever session holds it. The end of the
// call's connection does not end it.
func (d *delivery) Ack(ctx context.Context, c coord.Caller, p *api.StreamMessageParams) (api.StreamAckResult, error) {
	return d.acks.Run(ctx, c, p)
}

func (d *delivery) acking() lease.Giving[api.StreamMessageParams, AckIn, bool, api.StreamAckResult, messageName] {
	return lease.Giving[api.StreamMessageParams, AckIn, bool, api.StreamAckResult, messageName]{
		Verb: "ack", Leases: d.Leases, Runner: d.Runner, Script: AckScript,
		Ask: func(_ coord.Caller, p *api.StreamMessageParams, k *messageName) (lease.ID, coord.Question[AckIn], error) {
			*k = messageName{groupName{p.Stream, p.Group}, p.ID}
			if err := checkID(p.ID); err != nil {
				return lease.ID{}, coord.Question[AckIn]{}, err
			}
			if g := d.find(k.groupName); g != nil { // the group has made the names already
				return lease.ID{Noun: noun, Name: g.leases, Token: p.ID}, coord.Question[AckIn]{In: g.ack(p.ID)}, nil
			}
			return k.lease(), coord.Question[AckIn]{In: d.ack(k.groupName, p.ID)}, nil
		},
		Answer: func(ctx context.Context, k *messageName, acked lua.Outcome[bool]) (api.StreamAckResult, coord.Rest[api.StreamAckResult]) {
			if acked.Value {
				d.Telemetry.StreamMessages(ctx, "acked", 1)
			}
			d.settled(*k)
			return api.StreamAckResult{Acked: acked.Value}, nil
		},
	}
}

func (d *delivery) ack(n groupName, id string) AckIn {
	return AckIn{Keys: d.keys.streamKeys(n.stream), GroupKeys: d.keys.groupKeys(n.stream, n.group), Group: n.group, ID: id}
}

func (g *group) ack(id string) AckIn {
	return AckIn{Keys: g.keys, GroupKeys: g.own, Group: g.group, ID: id}
}

// Nack ends the delivery of a message that was not processed, as Ack does: the message is delivered
// again after a delay, or is moved to the dead letters. If this sidecar takes no part in the group,
// it does not know max_deliveries, which then does not make the message a dead letter.
func (d *delivery) Nack(ctx context.Context, c coord.Caller, p *api.StreamNackParams) (api.StreamNackResult, error) {
	return d.nacks.Run(ctx, c, p)
}

func (d *delivery) nacking() lease.Giving[api.StreamNackParams, NackIn, NackOut, api.StreamNackResult, messageName] {
	return lease.Giving[api.StreamNackParams, NackIn, NackOut, api.StreamNackResult, messageName]{
		Verb: "nack", Leases: d.Leases, Runner: d.Runner, Script: NackScript,
		Ask: func(_ coord.Caller, p *api.StreamNackParams, k *messageName) (lease.ID, coord.Question[NackIn], error) {
			*k = messageName{groupName{p.Stream, p.Group}, p.ID}
			if err := checkID(p.ID); err != nil {
				return lease.ID{}, coord.Question[NackIn]{}, err
			}
			in := NackIn{
				Keys: d.keys.streamKeys(p.Stream), GroupKeys: d.keys.groupKeys(p.Stream, p.Group), Group: p.Group, ID: p.ID,
				DelayMS: p.DelayMS, Dead: p.Dead, Reason: p.Reason,
			}
			if g := d.find(k.groupName); g != nil {
				in.MaxDeliveries = g.settingsNow().maxDeliveries
			}
			return k.lease(), coord.Question[NackIn]{In: in}, nil
		},
		Answer: func(ctx context.Context, k *messageName, out lua.Outcome[NackOut]) (api.StreamNackResult, coord.Rest[api.StreamNackResult]) {
			v := out.Value
			g := d.settled(*k)
			switch {
			case v.Dead:
				d.Telemetry.StreamMessages(ctx, "dead", 1)
			case v.Nacked && g != nil:
				g.lookBy(time.Now().Add(coord.Millis(v.DelayMS)))
			}
			if v.Nacked {
				d.Telemetry.StreamMessages(ctx, "nacked", 1)
			}
			return api.StreamNackResult{Nacked: v.Nacked, Dead: v.Dead, DelayMS: v.DelayMS}, nil
		},
	}
}

// Extend starts the visibility timeout of a message again, whichever session holds it.
func (d *delivery) Extend(ctx context.Context, c coord.Caller, p *api.StreamMessageParams) (api.StreamExtendResult, error) {
	r, err := d.extends.Run(ctx, c, p)
	if err == nil && r.Extended {
		if g := d.find(groupName{p.Stream, p.Group}); g != nil {
			g.prolong(p.ID)
		}
	}
	return r, err
}

// The reasons of an extension.
const (
	reasonExtended   = "extended"
	reasonNotPending = "not_pending"
	reasonTaken      = "taken"
)

func (d *delivery) extending() lease.Renewing[api.StreamMessageParams, HeldIn, State, api.StreamExtendResult] {
	return lease.Renewing[api.StreamMessageParams, HeldIn, State, api.StreamExtendResult]{
		Leases: d.Leases, Runner: d.Runner, Script: ExtendScript, Found: found,
		Ask: func(p *api.StreamMessageParams) (lease.ID, time.Duration, HeldIn, error) {
			m := messageName{groupName{p.Stream, p.Group}, p.ID}
			return m.lease(), d.visibilityOf(m), d.held(m.groupName, p.ID), checkID(p.ID)
		},
		Result: func(_ time.Duration, _ lease.Renewal, state State) api.StreamExtendResult {
			switch state {
			case StateDone:
				return api.StreamExtendResult{Extended: true, Reason: reasonExtended}
			case StateTaken:
				return api.StreamExtendResult{Reason: reasonTaken}
			default:
				return api.StreamExtendResult{Reason: reasonNotPending}
			}
		},
	}
}

// visibilityOf returns the time by which a message is extended.
func (d *delivery) visibilityOf(m messageName) time.Duration {
	if ttl := d.Leases.TTLOf(m.lease()); ttl > 0 {
		return ttl
	}
	if g := d.find(m.groupName); g != nil {
		return g.settingsNow().visibility
	}
	return 0 // this sidecar does not know the timeout, and does not need it
}
