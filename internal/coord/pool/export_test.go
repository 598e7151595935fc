package pool

import "github.com/coxswain-sidecar/coxswain/client/api"

// Judged is the explanation that pages of members make.
func Judged(pages ...ExplainOut) api.PoolExplainResult {
	j := judged{by: map[string]*ExplainReason{}}
	for _, page := range pages {
		j.add(page)
	}
	return j.result()
}
