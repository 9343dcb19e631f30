import { Panel } from "../../../ui/panel.tsx";
import { linksOf, type MenuDraft } from "./menu-draft.ts";
import { node_words } from "./node-words.ts";

/** The steps of a menu in words, for who may not change them. */
export function StepList({ menu }: { readonly menu: MenuDraft }) {
  const links = linksOf(menu);
  return (
    <Panel title="Steps">
      <ul className="divide-line -my-2 flex flex-col divide-y">
        {Object.entries(menu.nodes).map(([name, { type, prompt }]) => (
          <li key={name} className="flex flex-col gap-1 py-2">
            <p className="font-medium">
              {name} <span className="text-muted font-normal">{node_words[type].label}</span>
            </p>
            {prompt?.say && <p className="wrap-anywhere">“{prompt.say}”</p>}
            {links
              .filter(({ from }) => from === name)
              .map(({ label, to }) => (
                <p key={label} className="text-muted">
                  {label}: {to}
                </p>
              ))}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
