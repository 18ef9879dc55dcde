apiVersion: v1
kind: Secret
metadata: {name: cluster, namespace: flux-system}
stringData: {token: "op://vault/cluster/token"}
