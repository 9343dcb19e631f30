import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { createGroup } from "../../api/groups.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { useKeyedWrite } from "../../ui/use-keyed-write.ts";
import { GroupNameForm } from "./group-name-form.tsx";

/** Creates a group and goes to its page. */
export function NewGroupDialog() {
  const [open, setOpen] = useState(false);
  const navigate = useNavigate();
  const write = useKeyedWrite();
  return (
    <Dialog
      title="New group"
      trigger={<Button kind="primary">New group</Button>}
      open={open}
      onOpenChange={setOpen}
    >
      <GroupNameForm
        name=""
        action="Create group"
        save={async (name) => {
          const id = await write(name, (key) => createGroup(name, key));
          await navigate({ to: "/groups/$id", params: { id }, ignoreBlocker: true });
        }}
        onCancel={() => setOpen(false)}
      />
    </Dialog>
  );
}
