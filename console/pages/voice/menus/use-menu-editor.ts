import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useDeferredValue, useState } from "react";
import type { Menu } from "../../../api/voice.ts";
import { api, body } from "../../../api/client.ts";
import { ApiProblem } from "../../../api/problem.ts";
import { queryClient } from "../../../api/query-client.ts";
import { placeholdersOf } from "../../../from-server.ts";
import { toasts } from "../../../ui/toasts.tsx";
import { draftOf, new_menu, type MenuDraft } from "./menu-draft.ts";

/** The draft of a menu, its saving, and a caller who walks through it. */
export function useMenuEditor(menu: Menu | null) {
  const navigate = useNavigate();
  const [draft, setDraft] = useState<MenuDraft>(() => (menu ? draftOf(menu) : new_menu));
  const [saved, setSaved] = useState(draft);
  const change = (changed: MenuDraft) => {
    setDraft(changed);
    if (!save.isPending) save.reset();
  };
  const trial = useTrial(draft);
  // Errors of a step wait until the focus is elsewhere or someone tries to save: writing is not interrupted.
  const [checked, setChecked] = useState<ReadonlySet<number>>(new Set());
  const names = Object.keys(draft.nodes);
  const checkAll = () => setChecked(new Set(names.keys()));
  const save = useMutation({
    mutationFn: (sent: MenuDraft) => saveMenu(menu?.id ?? null, sent),
    onMutate: checkAll,
    onSuccess: async ({ id }, sent) => {
      setSaved(sent);
      toasts.add({ title: "Saved for campaigns launched from now on" });
      await queryClient.invalidateQueries({ queryKey: ["voice-menus"] });
      if (!menu) await navigate({ to: "/voice/menus/$id", params: { id }, ignoreBlocker: true });
    },
  });
  const violations = [save.error, trial.error].flatMap((error) =>
    error instanceof ApiProblem ? error.errors : [],
  );
  const isShown = (field: string) => {
    const node = nodeOf(field);
    return node === undefined || checked.has(names.indexOf(node));
  };
  const shown = violations.filter(({ field }) => isShown(field));
  return {
    draft,
    change,
    /** Also by what was changed while a save was under way. */
    isChanged: draft !== saved,
    save,
    trial,
    /** Shows the errors of a step, by its place, from now on. */
    check: (at: number) => setChecked((old) => new Set([...old, at])),
    checkAll,
    errorOf: (field: string) => shown.find((one) => one.field === field)?.reason,
    /** Nodes of which any field is wrong. */
    wrong: new Set(shown.flatMap(({ field }) => nodeOf(field) ?? [])),
  };
}

/** The node that a field belongs to. */
const nodeOf = (field: string): string | undefined => /^nodes\.([^.]+)/.exec(field)?.[1];

function saveMenu(id: number | null, { name, start, nodes }: MenuDraft) {
  const json = { name, start, nodes: { ...nodes } };
  return body(
    id === null
      ? api.POST("/api/v1/voice/menus", { body: json })
      : api.PATCH("/api/v1/voice/menus/{id}", { params: { path: { id } }, body: json }),
  );
}

/** A caller of the draft: the server walks, as in a call, and reports what is wrong with the menu. */
function useTrial({ start, nodes }: MenuDraft) {
  const [presses, setPresses] = useState<readonly string[]>([]);
  const [variables, setVariables] = useState<Readonly<Record<string, string>>>({});
  // Typing stays fast, and only what was typed last is sent.
  const sent = useDeferredValue({ start, nodes, variables, presses });
  const { data, error } = useQuery({
    queryKey: ["menu-trial", sent],
    queryFn: ({ signal }) =>
      body(
        api.POST("/api/v1/voice/menus/preview", {
          body: {
            ...sent,
            nodes: { ...sent.nodes },
            variables: { ...sent.variables },
            presses: [...sent.presses],
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    retry: false,
    gcTime: 0,
  });
  const captured = new Set(Object.values(nodes).map(({ variable }) => variable));
  const texts = JSON.stringify(nodes);
  return {
    data: error ? null : data,
    error,
    presses,
    variables,
    names: [...new Set(placeholdersOf(texts).map(({ name }) => name))].filter(
      (name) => !captured.has(name),
    ),
    press: (press: string) => setPresses((old) => [...old, press]),
    give: (name: string, value: string) => setVariables((old) => ({ ...old, [name]: value })),
    restart: () => setPresses([]),
  };
}
