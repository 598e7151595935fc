package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// cluster is a Redis Cluster of masters without replicas.
type cluster struct {
	addrs []string
	buses []string // the ports of the cluster bus
	nodes []*child
	dirs  []string
}

const slots = 16384

// startCluster starts a cluster whose masters have equal shares of the slots. The caller stops
// what it returns, also after an error.
func startCluster(ctx context.Context, dir string, masters int) (*cluster, error) {
	c := &cluster{}
	for range masters {
		own, err := os.MkdirTemp(dir, "node") // each node writes its nodes.conf there
		if err != nil {
			return c, err
		}
		c.dirs = append(c.dirs, own)
		port, err := freePort()
		if err != nil {
			return c, err
		}
		bus, err := freePort()
		if err != nil {
			return c, err
		}
		node, err := startRedis(own, port, "--cluster-enabled", "yes", "--cluster-port", bus)
		if err != nil {
			return c, err
		}
		c.nodes, c.addrs, c.buses = append(c.nodes, node), append(c.addrs, "127.0.0.1:"+port), append(c.buses, bus)
	}
	for i, addr := range c.addrs {
		if err := c.join(ctx, i, addr); err != nil {
			return c, fmt.Errorf("cluster of %d: %w", masters, err)
		}
	}
	for _, addr := range c.addrs {
		if err := c.settled(ctx, addr); err != nil {
			return c, fmt.Errorf("cluster of %d: %w", masters, err)
		}
	}
	return c, nil
}

// join assigns the ith node its slots and makes it meet the first node.
func (c *cluster) join(ctx context.Context, i int, addr string) error {
	db := goredis.NewClient(&goredis.Options{Addr: addr})
	defer db.Close()
	if err := until(ctx, func() error { return db.Ping(ctx).Err() }); err != nil {
		return err
	}
	n := len(c.addrs)
	if err := db.ClusterAddSlotsRange(ctx, i*slots/n, (i+1)*slots/n-1).Err(); err != nil {
		return err
	}
	if i == 0 {
		return nil
	}
	// The epochs have to differ: otherwise the nodes resolve the conflict by raising them one after the other, which takes longer.
	if err := db.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
		return err
	}
	_, port, _ := strings.Cut(c.addrs[0], ":")
	return db.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", port, c.buses[0]).Err()
}

// settled waits until a node reports all nodes and all slots.
func (c *cluster) settled(ctx context.Context, addr string) error {
	db := goredis.NewClient(&goredis.Options{Addr: addr})
	defer db.Close()
	return until(ctx, func() error {
		info, err := db.ClusterInfo(ctx).Result()
		known := fmt.Sprintf("cluster_known_nodes:%d\r", len(c.addrs))
		if err == nil && (!strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, known)) {
			err = fmt.Errorf("%s: %s", addr, info)
		}
		return err
	})
}

func (c *cluster) url() string { return "redis+cluster://" + strings.Join(c.addrs, ",") }

func (c *cluster) stop() {
	for _, n := range c.nodes {
		n.stop()
	}
	for _, d := range c.dirs {
		_ = os.RemoveAll(d) // measure removes the folder above at its end
	}
}
