#!/bin/sh
kubectl apply -k kubernetes/bootstrap
linkerd install --crds | kubectl apply -f -
argocd app create root --repo https://git.example.org/home --path kubernetes/apps --dest-namespace argocd
kubectl apply -f kubernetes/bootstrap -R --dry-run=server
