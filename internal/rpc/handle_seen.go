package rpc

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

func seenReserve(ctx context.Context, k *call, p *api.SeenReserveParams) (api.SeenReserveResult, error) {
	r, err := k.services().Seen.Reserve(ctx, k.caller(), coord.ReserveRequest{
		Set: p.Set, Key: p.Key, TTL: coord.Millis(p.TTLMS), Bound: p.Bind == api.BindSession,
	})
	return api.SeenReserveResult{
		Reserved: r.Reserved, State: r.State, Token: r.Token, RetryAfterMS: coord.MillisUp(r.RetryAfter), Replayed: r.Replayed, Reason: r.Reason,
	}, err
}

func seenCommit(ctx context.Context, k *call, p *api.SeenCommitParams) (api.SeenCommitResult, error) {
	o, err := k.services().Seen.Commit(ctx, k.caller(), p.Set, p.Key, p.Token, coord.Millis(p.KeepMS))
	return api.SeenCommitResult{Committed: o.Done, Reason: o.Reason}, err
}

func seenRelease(ctx context.Context, k *call, p *api.SeenReleaseParams) (api.SeenReleaseResult, error) {
	o, err := k.services().Seen.Release(ctx, k.caller(), p.Set, p.Key, p.Token)
	return api.SeenReleaseResult{Released: o.Done, Reason: o.Reason}, err
}
