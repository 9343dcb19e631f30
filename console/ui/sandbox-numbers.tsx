import { call_behaviors, chat_behaviors } from "../messages/sandbox-numbers.ts";

/** Which numbers fail, press keys or answer in the sandbox, so that everything can be tried. */
export function SandboxNumbers({ of }: { readonly of: "messages" | "calls" }) {
  return (
    <details>
      <summary className="text-accent cursor-pointer">Test numbers for other outcomes</summary>
      <p className="text-muted mt-2">In the sandbox, a number that ends in …</p>
      <dl className="mt-1 grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
        {(of === "calls" ? call_behaviors : chat_behaviors).map(([ending, text]) => (
          <div key={ending} className="col-span-2 grid grid-cols-subgrid">
            <dt className="font-mono">{ending}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
