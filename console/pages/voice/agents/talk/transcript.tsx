import { useEffect, useRef } from "react";
import type { TalkState } from "./use-talk.ts";

/** What an AI agent and its caller have said, the newest in view. */
export function Transcript({
  said,
  caller,
  label,
}: {
  readonly said: TalkState["said"];
  readonly caller: string;
  readonly label: string;
}) {
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    list.current!.scrollTop = list.current!.scrollHeight;
  }, [said.length]);
  return (
    <ol
      ref={list}
      role="log"
      aria-label={label}
      tabIndex={0}
      className="border-line flex max-h-80 flex-col gap-2 overflow-y-auto rounded-xl border p-3"
    >
      {said.map(({ who, text }, at) => (
        <li
          key={at}
          className={
            who === "agent"
              ? "bg-hover max-w-[85%] self-start rounded-xl px-3 py-2"
              : "bg-accent-soft max-w-[85%] self-end rounded-xl px-3 py-2"
          }
        >
          <span className="text-muted block text-xs">{who === "agent" ? "AI agent" : caller}</span>
          {text}
        </li>
      ))}
    </ol>
  );
}
