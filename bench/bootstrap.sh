#!/usr/bin/env bash
# What many repos have in a Taskfile: the same cluster by talosctl, kubectl and helmfile, one after the other.
# Needs: REPO, WORK, ENDPOINT (of the machine), API (of the cluster), TOKEN, and the programs on PATH.
set -euo pipefail
cd "$WORK"
talosctl gen secrets --output-file secrets.yaml
{
  echo 'cluster:'
  echo '  allowSchedulingOnControlPlanes: true'
  echo '  inlineManifests:'
  echo '    - name: flannel'
  echo '      contents: |'
  sed 's/^/        /' "$REPO/flannel/flannel.yaml"
} > inline.yaml
printf 'apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: cp-1\nauto: off\n' > host.yaml
talosctl gen config light https://10.9.0.11:6443 --with-secrets secrets.yaml --output-types controlplane,talosconfig \
  --output . --with-docs=false --with-examples=false --install-disk /dev/sda \
  --config-patch "@$REPO/talos/all.yaml" --config-patch-control-plane @inline.yaml --config-patch-control-plane @host.yaml
talosctl apply-config --insecure --nodes "$ENDPOINT" --file controlplane.yaml
talos() { talosctl --talosconfig talosconfig --endpoints "$ENDPOINT" --nodes "${ENDPOINT%%:*}" "$@"; }
until talos bootstrap 2>/dev/null; do sleep 1; done
until talos kubeconfig kubeconfig --force 2>/dev/null; do sleep 1; done
sed -i "s#server: .*#server: $API\n    tls-server-name: 10.9.0.11#" kubeconfig
export KUBECONFIG="$WORK/kubeconfig"
until kubectl get nodes 2>/dev/null | grep -q cp-1; do sleep 1; done
kubectl wait --for=condition=Ready nodes --all --timeout=300s
for namespace in flux-system greeter; do
  kubectl create namespace "$namespace" --dry-run=client -o yaml | kubectl apply --server-side -f -
done
kubectl create secret generic greeter-token -n greeter --from-literal=token="$TOKEN" --dry-run=client -o yaml \
  | kubectl apply --server-side -f -
cat > helmfile.yaml <<YAML
helmDefaults: {wait: true}
releases:
  - {name: greeter, namespace: greeter, chart: $REPO/charts/greeter, values: [{word: good morning}]}
YAML
helmfile --quiet sync
kubectl apply --server-side -f "$REPO/cluster/flux-system/gotk-components.yaml"
kubectl wait --for=condition=Established crd --all --timeout=300s
kubectl wait -n flux-system --for=condition=Available deployment --all --timeout=300s
kubectl apply --server-side -f "$REPO/cluster/flux-system/gotk-sync.yaml"
kubectl wait -n flux-system --for=condition=Ready gitrepository/flux-system kustomization/flux-system --timeout=300s
kubectl wait -n flux-system --for=condition=Ready kustomization --all --timeout=300s
kubectl wait -n greeter --for=condition=Ready helmrelease/greeter --timeout=300s
