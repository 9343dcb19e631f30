import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { workspacesQuery } from "../../api/leads.ts";
import { buttonClass } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { PageLink } from "../../ui/page-link.tsx";
import { ImportForm } from "./import-form.tsx";
import { ImportProgress } from "./import-progress.tsx";

const route = getRouteApi("/shell/leads/import");

export function ImportPage() {
  const search = route.useSearch();
  const { data: workspaces, error } = useQuery(workspacesQuery);
  const workspace = search.workspace ?? workspaces?.[0]?.id;
  const name = workspaces?.find(({ id }) => id === workspace)?.name;
  return (
    <Page
      title="Import leads"
      text={name && `Into the workspace ${name}`}
      actions={
        <>
          {search.import !== undefined && (
            <Link to="/leads/import" search={{ workspace }} className={buttonClass("plain")}>
              Import another file
            </Link>
          )}
          <PageLink
            to="/leads"
            search={{ workspace }}
            className={buttonClass("plain")}
            otherwise={null}
          >
            See the leads
          </PageLink>
        </>
      }
    >
      <FormError error={error} />
      {workspace !== undefined &&
        (search.import === undefined ? (
          <ImportForm key={workspace} workspace={workspace} />
        ) : (
          <ImportProgress workspace={workspace} id={search.import} />
        ))}
    </Page>
  );
}
