import { Page } from "../../../ui/page.tsx";
import { MenuEditor } from "./menu-editor.tsx";

/** Begins a menu with an example that works. */
export function NewMenuPage() {
  return (
    <Page
      title="New menu"
      text="It begins with an example: change its texts, add steps, and try it beside them."
    >
      <MenuEditor menu={null} />
    </Page>
  );
}
