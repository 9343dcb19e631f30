import { useState } from "react";
import type { Menu } from "../../../api/voice.ts";
import { ApiProblem } from "../../../api/problem.ts";
import { Button } from "../../../ui/button.tsx";
import { FormError } from "../../../ui/form-error.tsx";
import { Panel } from "../../../ui/panel.tsx";
import { SelectField } from "../../../ui/select-field.tsx";
import { FormActions } from "../../../ui/form-actions.tsx";
import { TextField } from "../../../ui/text-field.tsx";
import { UnsavedChanges } from "../../../ui/unsaved-changes.tsx";
import {
  addNode,
  changeNode,
  removeNode,
  renameNode,
  type MenuDraft,
  type NodeType,
} from "./menu-draft.ts";
import { LazyMenuGraph } from "./lazy-menu-graph.tsx";
import { NodeCard } from "./node-card.tsx";
import { node_words } from "./node-words.ts";
import { TryMenu } from "./try-menu.tsx";
import { useMenuEditor } from "./use-menu-editor.ts";

type Editor = ReturnType<typeof useMenuEditor>;

const showNode = (name: string) => document.getElementById(`node-${name}`)?.focus();

/** Edits a menu: its steps as a list, the same as a graph, and a caller who tries it. Null: a new menu. */
export function MenuEditor({ menu }: { readonly menu: Menu | null }) {
  const editor = useMenuEditor(menu);
  const { draft, trial, wrong } = editor;
  return (
    <div className="grid items-start gap-6 xl:grid-cols-[1fr_22rem]">
      <UnsavedChanges isChanged={editor.isChanged} />
      <div className="flex min-w-0 flex-col gap-6">
        <LazyMenuGraph
          menu={draft}
          current={trial.data?.node ?? null}
          wrong={wrong}
          onSelect={showNode}
        />
        <Steps editor={editor} />
      </div>
      <div className="flex flex-col gap-6 xl:sticky xl:top-8">
        <SavePanel editor={editor} isNew={menu === null} />
        <TryMenu
          trial={trial.data}
          presses={trial.presses}
          names={trial.names}
          variables={trial.variables}
          onPress={trial.press}
          onVariable={trial.give}
          onRestart={trial.restart}
        />
      </div>
    </div>
  );
}

function Steps({ editor }: { readonly editor: Editor }) {
  const { draft, change, trial, errorOf, check, checkAll } = editor;
  const names = Object.keys(draft.nodes);
  const showAdded = ([changed, name]: readonly [MenuDraft, string]) => {
    change(changed);
    // After the card is in the page.
    requestAnimationFrame(() => showNode(name));
  };
  return (
    <section aria-label="Steps" className="flex flex-col gap-3">
      <h2 className="font-semibold">Steps</h2>
      {Object.entries(draft.nodes).map(([name, node], at) => (
        <NodeCard
          // Not its name: who renames a step goes on within its card.
          key={at}
          name={name}
          node={node}
          isStart={name === draft.start}
          isCurrent={trial.presses.length > 0 && trial.data?.node === name}
          targets={names}
          errorOf={(field) =>
            errorOf(field === undefined ? `nodes.${name}` : `nodes.${name}.${field}`)
          }
          onChange={(changed) => change(changeNode(draft, name, changed))}
          onLeave={() => check(at)}
          onNewStep={(leadTo) => {
            const [added, step] = addNode(draft, "play");
            showAdded([changeNode(added, name, leadTo(step)), step]);
          }}
          onRename={(to) => change(renameNode(draft, name, to))}
          onStart={() => change({ ...draft, start: name })}
          onRemove={() => {
            checkAll();
            change(removeNode(draft, name));
          }}
        />
      ))}
      <AddStep onAdd={(type) => showAdded(addNode(draft, type))} />
    </section>
  );
}

function AddStep({ onAdd }: { readonly onAdd: (type: NodeType) => void }) {
  const [type, setType] = useState<NodeType>("play");
  return (
    <div className="flex flex-wrap items-end gap-2">
      <SelectField
        label="Another step"
        name="type"
        options={Object.entries(node_words).map(([value, { label }]) => ({ value, label }))}
        value={type}
        onChange={({ target }) => setType(target.value as NodeType)}
      />
      <Button onClick={() => onAdd(type)}>Add step</Button>
    </div>
  );
}

function SavePanel({
  editor: { draft, change, save, isChanged, errorOf, wrong },
  isNew,
}: {
  readonly editor: Editor;
  readonly isNew: boolean;
}) {
  const isAtField =
    save.error instanceof ApiProblem && (errorOf("name") !== undefined || wrong.size > 0);
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate(draft);
      }}
    >
      <Panel title="Save">
        <TextField
          label="Name of the menu"
          name="name"
          value={draft.name}
          error={save.isError ? errorOf("name") : undefined}
          onValueChange={(name) => change({ ...draft, name })}
        />
        {wrong.size > 0 && (
          <p role="status" className="text-danger">
            {wrong.size === 1 ? "One step is" : `${wrong.size} steps are`} not right yet:{" "}
            {[...wrong].join(", ")}.
          </p>
        )}
        {!isAtField && <FormError error={save.error} />}
        <FormActions submit={() => save.mutateAsync(draft)} align="start">
          <Button
            kind="primary"
            type="submit"
            busy={save.isPending}
            disabled={!isNew && !isChanged}
          >
            {isNew ? "Create menu" : "Save"}
          </Button>
        </FormActions>
      </Panel>
    </form>
  );
}
