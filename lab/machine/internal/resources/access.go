package resources

import (
	"context"
	"fmt"
	"strings"

	"github.com/cosi-project/runtime/pkg/resource/meta"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/grpc/middleware/authz"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// accessPolicy is Talos's: nobody writes; administrators, operators and readers read; what holds secrets is for
// administrators. Types and namespaces that are not registered are refused, not empty.
func accessPolicy(st state.State) state.FilteringRule {
	return func(ctx context.Context, access state.Access) error {
		if !access.Verb.Readonly() {
			return status.Error(codes.PermissionDenied, "write access is not allowed")
		}

		roles := rolesOf(ctx)
		if !roles.IncludesAny(role.MakeSet(role.Admin, role.Operator, role.Reader)) {
			return authz.ErrNotAuthorized
		}

		definition, err := safe.StateGetByID[*meta.ResourceDefinition](ctx, st, strings.ToLower(access.ResourceType))

		switch {
		case state.IsNotFoundError(err):
			return status.Error(codes.PermissionDenied, fmt.Sprintf("resource type %q is not supported", access.ResourceType))
		case err != nil:
			return err
		case definition.TypedSpec().Sensitivity == meta.Sensitive && !roles.Includes(role.Admin):
			return authz.ErrNotAuthorized
		}

		_, err = safe.StateGetByID[*meta.Namespace](ctx, st, access.ResourceNamespace)
		if state.IsNotFoundError(err) {
			return status.Error(codes.PermissionDenied, fmt.Sprintf("namespace %q is not supported", access.ResourceNamespace))
		}

		return err
	}
}

// rolesOf is what the interceptors of apid found out about the caller; none if they were not asked, since
// authz.GetRoles would panic then.
func rolesOf(ctx context.Context) role.Set {
	found := role.Zero

	authz.ReplaceRoles(ctx, func(roles role.Set) role.Set {
		found = roles

		return roles
	})

	return found
}
