import { useState } from "react";

/** Which columns of a list are hidden, by their headers; kept in this browser. */
export function useColumnChoice(list: string): {
  readonly hidden: ReadonlySet<string>;
  readonly onChange: (hidden: ReadonlySet<string>) => void;
} {
  const key = `columns-hidden:${list}`;
  const [hidden, setHidden] = useState<ReadonlySet<string>>(() => new Set(readHidden(key)));
  return {
    hidden,
    onChange: (changed) => {
      setHidden(changed);
      localStorage.setItem(key, JSON.stringify([...changed]));
    },
  };
}

function readHidden(key: string): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(stored) ? stored.map(String) : [];
  } catch {
    return [];
  }
}
