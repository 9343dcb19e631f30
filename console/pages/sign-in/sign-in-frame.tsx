import type { ReactNode } from "react";
import { Heading } from "../../ui/heading.tsx";
import { Logo } from "../../ui/logo.tsx";

/** The frame of the pages for those who are not signed in. */
export function SignInFrame({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ReactNode;
}) {
  return (
    <main className="flex min-h-screen items-center justify-center p-6">
      <div className="border-line bg-panel flex w-full max-w-sm flex-col gap-6 rounded-2xl border p-8 shadow-sm">
        <div className="flex items-center gap-3">
          <Logo />
          <span className="text-base font-semibold">Trunkline</span>
        </div>
        <Heading>{title}</Heading>
        {children}
      </div>
    </main>
  );
}
