"""Objects whose files tests change."""

import textwrap

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  replicas: 2
  template:
    spec:
      initContainers:
        - name: first
          image: example.org/first:1
        - name: second
          image: example.org/second:1
      containers:
        - name: web
          image: "example.org/web:1.0.0"
          args: [--one, --two, --three]
          ports:
            - containerPort: 80
            - containerPort: 443
        - name: proxy
          image: example.org/proxy:1
"""
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {ports: [{port: 80}]}\n"
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  password: hunter2\n  other: abc\n"


def text(written: str) -> str:
    return textwrap.dedent(written)
