# Coxswain's image: one static binary and the authorities that TLS needs. It builds from a plain checkout where the
# network is, and from the context of hack/image.sh, which brings vendor/ along, where it is not.
# Other platforms are cross-compiled here: emulating them would take minutes and need binfmt.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG VERSION=dev
# Set by BuildKit from --platform.
ARG TARGETOS
ARG TARGETARCH
WORKDIR /src
COPY . .
# Fixed times, so that the same source gives the same layer.
RUN mkdir -p /root-of-image/etc/ssl/certs \
	&& CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false -tags grpcnotrace \
		-ldflags "-s -w -X main.version=$VERSION" -o /root-of-image/sidecar ./cmd/sidecar \
	&& cp /etc/ssl/certs/ca-certificates.crt /root-of-image/etc/ssl/certs/ \
	&& find /root-of-image -exec touch -d @0 {} +

FROM scratch
COPY --from=build /root-of-image/ /
USER 65532:65532
EXPOSE 8086
ENTRYPOINT ["/sidecar"]
CMD ["serve"]
