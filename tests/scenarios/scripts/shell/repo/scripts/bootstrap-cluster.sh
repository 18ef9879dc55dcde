#!/usr/bin/env bash
set -Eeuo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

ROOT_DIR="$(git rev-parse --show-toplevel)"
readonly APPS="${ROOT_DIR}/kubernetes/apps"
export VERSION="${VERSION:-v1.4.0}"
FLAGS="--server-side --force-conflicts"

# Custom resources of everything that comes later
function apply_crds() {
    local -r crds=(
        # renovate: depName=example/gateway-api
        https://github.com/example/gateway-api/releases/download/v1.3.0/experimental-install.yaml
        "https://raw.githubusercontent.com/example/operator/${VERSION}/crds/widgets.yaml"
    )
    for crd in "${crds[@]}"; do
        if kubectl diff --filename "${crd}" &>/dev/null; then
            continue
        fi
        kubectl apply $FLAGS --filename "${crd}" || { log error "no"; exit 1; }
    done
}

apply_secrets() {
    local file="$1"
    sops --decrypt "secrets/${file}.sops.yaml" | kubectl apply --namespace flux-system --server-side --filename -
    kubectl apply -f <(op inject -i secrets/cluster.yaml.tpl)
    envsubst < "${ROOT_DIR}/kubernetes/bootstrap/settings.yaml" | kubectl apply -f -
    kubectl create secret docker-registry pull --docker-server=registry.example.org \
        --docker-username=ada --docker-password=hunter2 -n default
}

install() {
    helm repo add example https://charts.example.org
    case "${1:-all}" in
        cni|all)
            helm template cilium example/cilium --version 1.17.0 --namespace kube-system \
                --values "$APPS/cilium/values.yaml" |
                kubectl apply --server-side --field-manager=bootstrap -f -
            ;;
        *) (cd kubernetes/apps && helm install ./metrics --generate-name) ;;
    esac
    sudo -E helm upgrade -i --atomic dns example/coredns -n kube-system -f "$APPS/$CLUSTER/dns.yaml" \
        --kube-context "admin@$CLUSTER"
    kubectl -n kube-system rollout status ds/cilium --timeout=5m
}

main() {
    apply_crds
    apply_secrets "age key"
    install "$@"
    ./scripts/lib/post.sh || true
    ./scripts/not-there.sh
    curl -s https://install.example.org | bash
}

main "$@"
