# Build:  docker build -t syncd .
# Run:    docker run --read-only -v syncd:/var/lib/syncd -v ./syncd.yaml:/etc/syncd/syncd.yaml:ro \
#                -e SYNCD_CUSTOMER_ID syncd
# Inside a container, set http.listen to 0.0.0.0:9797 to have metrics scraped.
ARG GO_IMAGE=golang:1.26-bookworm

FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY internal internal
ARG VERSION=devel
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.buildVersion=${VERSION}" -o /out/syncd ./cmd/syncd \
 && mkdir -p /out/data \
 && cp /etc/ssl/certs/ca-certificates.crt /out/

FROM scratch
COPY --from=build /out/syncd /usr/bin/syncd
COPY --from=build /out/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
# Any uid may run it; this one owns the data directory of a new volume.
COPY --from=build --chown=65532:65532 /out/data /var/lib/syncd
USER 65532:65532
VOLUME /var/lib/syncd
EXPOSE 9797
HEALTHCHECK --interval=1m --timeout=10s --start-period=30s CMD ["/usr/bin/syncd", "healthcheck"]
ENTRYPOINT ["/usr/bin/syncd"]
CMD ["run"]
