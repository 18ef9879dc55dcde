package proxy

import (
	"net/http/httptest"
	"testing"
)

func TestClassify(t *testing.T) {
	for _, test := range []struct {
		method, target string
		want           Request
	}{
		{"GET", "/api", Request{Class: Discovery, Verb: "get"}},
		{"GET", "/api/v1", Request{Class: Discovery, Verb: "get"}},
		{"GET", "/apis", Request{Class: Discovery, Verb: "get"}},
		{"GET", "/apis/apps", Request{Class: Discovery, Verb: "get"}},
		{"GET", "/apis/apps/v1", Request{Class: Discovery, Verb: "get"}},
		{"HEAD", "/apis/apps/v1/", Request{Class: Discovery, Verb: "head"}},
		{"GET", "/openapi/v2", Request{Class: Discovery, Verb: "get"}},
		{"GET", "/openapi/v3/apis/apps/v1?hash=1", Request{Class: Discovery, Verb: "get"}},
		{"GET", "/", Request{Class: Other, Verb: "get"}},
		{"GET", "/healthz", Request{Class: Other, Verb: "get"}},
		{"GET", "/readyz?verbose", Request{Class: Other, Verb: "get"}},
		{"GET", "/version", Request{Class: Other, Verb: "get"}},
		{"POST", "/api/v1", Request{Class: Other, Verb: "post"}},

		{"GET", "/api/v1/nodes/n1", Request{Class: Get, Verb: "get", Version: "v1", Resource: "nodes", Name: "n1"}},
		{"HEAD", "/api/v1/nodes/n1", Request{Class: Get, Verb: "get", Version: "v1", Resource: "nodes", Name: "n1"}},
		{"GET", "/api/v1/namespaces/a", Request{Class: Get, Verb: "get", Version: "v1", Namespace: "a", Resource: "namespaces", Name: "a"}},
		{"GET", "/api/v1/namespaces/a/status", Request{Class: Get, Verb: "get", Version: "v1", Namespace: "a", Resource: "namespaces", Name: "a", Subresource: "status"}},
		{"PUT", "/api/v1/namespaces/a/finalize", Request{Class: Update, Verb: "update", Version: "v1", Namespace: "a", Resource: "namespaces", Name: "a", Subresource: "finalize"}},
		{"GET", "/api/v1/namespaces/a/pods/p", Request{Class: Get, Verb: "get", Version: "v1", Namespace: "a", Resource: "pods", Name: "p"}},
		{"GET", "/api/v1/namespaces/a/pods/p?watch=1", Request{Class: Get, Verb: "get", Version: "v1", Namespace: "a", Resource: "pods", Name: "p"}},
		{"GET", "/api/v1/namespaces/a/pods/p/log?follow=true", Request{Class: Get, Verb: "get", Version: "v1", Namespace: "a", Resource: "pods", Name: "p", Subresource: "log"}},
		{"GET", "/apis/apps/v1/namespaces/a/deployments/d/scale", Request{Class: Get, Verb: "get", Group: "apps", Version: "v1", Namespace: "a", Resource: "deployments", Name: "d", Subresource: "scale"}},

		{"GET", "/api/v1/pods", Request{Class: List, Verb: "list", Version: "v1", Resource: "pods"}},
		{"GET", "/api/v1/pods?limit=500", Request{Class: List, Verb: "list", Version: "v1", Resource: "pods"}},
		{"GET", "/api/v1/namespaces", Request{Class: List, Verb: "list", Version: "v1", Resource: "namespaces"}},
		{"GET", "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dp", Request{Class: List, Verb: "list", Version: "v1", Namespace: "a", Resource: "pods"}},
		{"GET", "/apis/apps/v1/deployments?watch=false", Request{Class: List, Verb: "list", Group: "apps", Version: "v1", Resource: "deployments"}},
		{"GET", "/apis/apps/v1/deployments?watch=0", Request{Class: List, Verb: "list", Group: "apps", Version: "v1", Resource: "deployments"}},
		{"GET", "/apis/x.io/v1/rules?allowWatchBookmarks=true", Request{Class: List, Verb: "list", Group: "x.io", Version: "v1", Resource: "rules"}},

		{"GET", "/api/v1/pods?watch=true", Request{Class: Watch, Verb: "watch", Version: "v1", Resource: "pods"}},
		{"GET", "/api/v1/pods?limit=1&watch=1", Request{Class: Watch, Verb: "watch", Version: "v1", Resource: "pods"}},
		{"GET", "/api/v1/pods?watch", Request{Class: Watch, Verb: "watch", Version: "v1", Resource: "pods"}},
		{"GET", "/apis/apps/v1/namespaces/a/deployments?watch=true&fieldSelector=metadata.name%3Dd", Request{Class: Watch, Verb: "watch", Group: "apps", Version: "v1", Namespace: "a", Resource: "deployments"}},
		{"GET", "/api/v1/watch/pods", Request{Class: Watch, Verb: "watch", Version: "v1", Resource: "pods"}},
		{"GET", "/api/v1/watch/namespaces/a/pods/p", Request{Class: Watch, Verb: "watch", Version: "v1", Namespace: "a", Resource: "pods", Name: "p"}},

		{"POST", "/api/v1/namespaces/a/pods", Request{Class: Create, Verb: "create", Version: "v1", Namespace: "a", Resource: "pods"}},
		{"POST", "/api/v1/namespaces/a/pods/p/binding", Request{Class: Create, Verb: "create", Version: "v1", Namespace: "a", Resource: "pods", Name: "p", Subresource: "binding"}},
		{"POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", Request{Class: Create, Verb: "create", Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}},
		{"PUT", "/api/v1/namespaces/a/configmaps/c", Request{Class: Update, Verb: "update", Version: "v1", Namespace: "a", Resource: "configmaps", Name: "c"}},
		{"PATCH", "/api/v1/nodes/n1/status", Request{Class: Update, Verb: "patch", Version: "v1", Resource: "nodes", Name: "n1", Subresource: "status"}},
		{"DELETE", "/api/v1/namespaces/a", Request{Class: Delete, Verb: "delete", Version: "v1", Namespace: "a", Resource: "namespaces", Name: "a"}},
		{"DELETE", "/api/v1/namespaces/a/pods", Request{Class: Delete, Verb: "deletecollection", Version: "v1", Namespace: "a", Resource: "pods"}},

		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", Request{Class: Other, Verb: "create", Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}},
		{"POST", "/apis/authentication.k8s.io/v1/tokenreviews", Request{Class: Other, Verb: "create", Group: "authentication.k8s.io", Version: "v1", Resource: "tokenreviews"}},
		{"POST", "/api/v1/namespaces/a/serviceaccounts/s/token", Request{Class: Other, Verb: "create", Version: "v1", Namespace: "a", Resource: "serviceaccounts", Name: "s", Subresource: "token"}},
		{"POST", "/api/v1/namespaces/a/pods/p/exec?command=id", Request{Class: Other, Verb: "create", Version: "v1", Namespace: "a", Resource: "pods", Name: "p", Subresource: "exec"}},
		{"GET", "/api/v1/namespaces/a/pods/p/portforward", Request{Class: Other, Verb: "get", Version: "v1", Namespace: "a", Resource: "pods", Name: "p", Subresource: "portforward"}},
		{"GET", "/api/v1/namespaces/a/services/s:http/proxy/x/y", Request{Class: Other, Verb: "get", Version: "v1", Namespace: "a", Resource: "services", Name: "s:http", Subresource: "proxy"}},
		{"GET", "/api/v1/proxy/namespaces/a/pods/p/x", Request{Class: Other, Verb: "proxy", Version: "v1", Namespace: "a", Resource: "pods", Name: "p"}},
		{"OPTIONS", "/api/v1/pods", Request{Class: Other, Verb: "", Version: "v1", Resource: "pods"}},
		{"GET", "/api/v1/watch", Request{Class: Discovery, Verb: "watch", Version: "v1"}},
	} {
		if got := Classify(httptest.NewRequest(test.method, test.target, nil)); got != test.want {
			t.Errorf("%s %s\n got %+v\nwant %+v", test.method, test.target, got, test.want)
		}
	}
}

func TestClassifyReadsHeaders(t *testing.T) {
	for contentType, apply := range map[string]bool{
		"application/apply-patch+yaml":           true,
		"application/apply-patch+cbor":           true,
		"application/strategic-merge-patch+json": false,
		"application/merge-patch+json":           false,
	} {
		r := httptest.NewRequest("PATCH", "/apis/apps/v1/namespaces/a/deployments/d?fieldManager=m&force=true", nil)
		r.Header.Set("Content-Type", contentType)
		if got := Classify(r); got.Class != Update || got.Apply != apply {
			t.Errorf("%s: class %s, apply %v", contentType, got.Class, got.Apply)
		}
	}

	r := httptest.NewRequest("GET", "/api/v1/namespaces/a/pods/p", nil)
	r.Header.Set("Upgrade", "websocket")
	if got := Classify(r); got.Class != Other {
		t.Errorf("an upgrade is of class %s", got.Class)
	}
}
