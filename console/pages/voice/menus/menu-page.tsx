import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { api } from "../../../api/client.ts";
import { queryClient } from "../../../api/query-client.ts";
import { menuQuery, type Menu } from "../../../api/voice.ts";
import { Button } from "../../../ui/button.tsx";
import { ConfirmDialog } from "../../../ui/confirm-dialog.tsx";
import { Missing } from "../../../ui/missing.tsx";
import { Page } from "../../../ui/page.tsx";
import { useMay } from "../../../ui/permission.ts";
import { CallPeople } from "../content/call-people.tsx";
import { draftOf } from "./menu-draft.ts";
import { MenuEditor } from "./menu-editor.tsx";
import { LazyMenuGraph } from "./lazy-menu-graph.tsx";
import { StepList } from "./step-list.tsx";

const route = getRouteApi("/shell/voice/menus/$id");

/** Edits one menu; without the permission to, it is only shown. */
export function MenuPage() {
  const { id } = route.useParams();
  const { data: menu, error } = useQuery({ ...menuQuery(id), refetchOnWindowFocus: false });
  const may = useMay("voice.content.manage");
  return (
    <Page
      title={menu?.name ?? "Menu"}
      text="What callers are asked and where each key leads."
      actions={menu && may && <MenuActions menu={menu} />}
    >
      {!menu ? (
        <Missing error={error} what="menu">
          <Link to="/voice/menus" className="text-accent underline">
            All menus
          </Link>
        </Missing>
      ) : may ? (
        <MenuEditor key={id} menu={menu} />
      ) : (
        <>
          <LazyMenuGraph menu={draftOf(menu)} />
          <StepList menu={draftOf(menu)} />
        </>
      )}
    </Page>
  );
}

function MenuActions({ menu: { id, name } }: { readonly menu: Menu }) {
  const navigate = useNavigate();
  return (
    <>
      <ConfirmDialog
        title={`Delete ${name}?`}
        text="Only a menu that no content uses can be deleted. Campaigns keep the menu they began with."
        action="Delete"
        trigger={<Button>Delete</Button>}
        act={async () => {
          await api.DELETE("/api/v1/voice/menus/{id}", { params: { path: { id } } });
          await queryClient.invalidateQueries({ queryKey: ["voice-menus"] });
          await navigate({ to: "/voice/menus", ignoreBlocker: true });
        }}
      />
      <CallPeople name={name} plays={{ menu_id: id }} />
    </>
  );
}
