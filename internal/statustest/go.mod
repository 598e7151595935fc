// The status page in a real browser, a module of its own: what drives the browser never enters the product's dependencies.
module github.com/coxswain-sidecar/coxswain/internal/statustest

go 1.26.0

require (
	github.com/chromedp/cdproto v0.160.1
	github.com/chromedp/chromedp v0.23.1
	github.com/coxswain-sidecar/coxswain/client v0.0.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/hashicorp/go-msgpack/v2 v2.1.5 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/coxswain-sidecar/coxswain/client => ../../client
