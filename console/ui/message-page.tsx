import type { ReactNode } from "react";
import { Heading } from "./heading.tsx";

/** A page that only says something, with what can be done about it. */
export function MessagePage({
  title,
  text,
  children,
}: {
  readonly title: string;
  readonly text: string;
  readonly children?: ReactNode;
}) {
  return (
    <main className="mx-auto flex min-h-[60vh] max-w-md flex-col justify-center gap-4 px-6">
      <Heading>{title}</Heading>
      <p className="text-muted">{text}</p>
      <div>{children}</div>
    </main>
  );
}
