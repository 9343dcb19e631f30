import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { endpointQuery, type Endpoint } from "../../api/callbacks.ts";
import { api } from "../../api/client.ts";
import { useRefresh } from "../../api/live.ts";
import { queryClient } from "../../api/query-client.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { Missing } from "../../ui/missing.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { useMay } from "../../ui/permission.ts";
import { Time } from "../../ui/time.tsx";
import { toasts } from "../../ui/toasts.tsx";
import { Deliveries } from "./deliveries.tsx";
import { EndpointDialog } from "./endpoint-dialog.tsx";
import { EndpointSecret } from "./endpoint-secret.tsx";
import { EndpointState } from "./endpoint-state.tsx";
import { Replays } from "./replays.tsx";

const route = getRouteApi("/shell/developers/callbacks/$id");

/** One endpoint: whether it works, what it received, its secret and its replays. */
export function EndpointPage() {
  const { id } = route.useParams();
  const { data: endpoint, error } = useQuery(endpointQuery(id));
  useRefresh(["callback.endpoint.disabled"], ["callback-endpoints", id]);
  const may = useMay("callbacks.manage");
  return (
    <Page
      title={
        endpoint ? (
          <span className="flex flex-wrap items-center gap-3 wrap-anywhere">
            {endpoint.url} <EndpointState endpoint={endpoint} />
          </span>
        ) : (
          "Callback endpoint"
        )
      }
      text={endpoint && <About endpoint={endpoint} />}
      actions={endpoint && may && <Actions endpoint={endpoint} />}
    >
      {endpoint ? (
        <>
          {may && (
            <div className="grid items-start gap-6 lg:grid-cols-2">
              <EndpointSecret key={id} id={id} />
              <Replays id={id} />
            </div>
          )}
          <Deliveries id={id} />
        </>
      ) : (
        <Missing error={error} what="endpoint">
          <Link to="/developers/callbacks" className="text-accent underline">
            All callbacks
          </Link>
        </Missing>
      )}
    </Page>
  );
}

function About({
  endpoint: { description, types, failing_since, resume_at },
}: {
  readonly endpoint: Endpoint;
}) {
  return (
    <>
      {description !== "" && `${description}. `}
      {types === null ? "Receives every event." : `Receives ${types.join(", ")}.`}
      {failing_since !== null && (
        <>
          {" "}
          It has failed since <Time at={failing_since} />.
        </>
      )}
      {resume_at !== null && (
        <>
          {" "}
          It is tried again <Time at={resume_at} />.
        </>
      )}
    </>
  );
}

function Actions({ endpoint }: { readonly endpoint: Endpoint }) {
  const { id, enabled, kind } = endpoint;
  const params = { path: { id } };
  const navigate = useNavigate();
  const refresh = () => queryClient.invalidateQueries({ queryKey: ["callback-endpoints"] });
  const test = useMutation({
    mutationFn: () => api.POST("/api/v1/callbacks/endpoints/{id}/test", { params }),
    onSuccess: async () => {
      toasts.add({ title: "A test event is sent" });
      await queryClient.invalidateQueries({ queryKey: ["callback-deliveries", id] });
    },
  });
  const toggle = useMutation({
    mutationFn: () =>
      api.PATCH("/api/v1/callbacks/endpoints/{id}", { params, body: { enabled: !enabled } }),
    onSuccess: refresh,
  });
  return (
    <div className="flex flex-col items-end gap-2">
      <div className="flex flex-wrap gap-2">
        {enabled && (
          <Button busy={test.isPending} onClick={() => test.mutate()}>
            Send a test
          </Button>
        )}
        {kind === "account" && (
          <EndpointDialog endpoint={endpoint} trigger={<Button>Change</Button>} />
        )}
        <Button busy={toggle.isPending} onClick={() => toggle.mutate()}>
          {enabled ? "Disable" : "Enable"}
        </Button>
        <ConfirmDialog
          title="Delete this endpoint?"
          text="It receives nothing any more, and what was sent to it is no longer shown."
          action="Delete"
          trigger={<Button>Delete</Button>}
          act={async () => {
            await api.DELETE("/api/v1/callbacks/endpoints/{id}", { params });
            await refresh();
            await navigate({ to: "/developers/callbacks" });
          }}
        />
      </div>
      <FormError error={test.error ?? toggle.error} />
    </div>
  );
}
