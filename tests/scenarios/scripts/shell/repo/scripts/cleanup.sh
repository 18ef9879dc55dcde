kubectl apply -f kubernetes/bootstrap/settings.yaml
helm uninstall cilium
