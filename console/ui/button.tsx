import { Button as BaseButton } from "@base-ui/react/button";
import type { ComponentProps } from "react";

const kinds = {
  primary: "bg-accent text-on-accent hover:brightness-110",
  plain: "border border-line bg-panel hover:bg-hover",
} as const;

/** A button. While `busy` it stays focusable and does nothing, so that a double click acts once. */
export function Button({
  kind = "plain",
  busy = false,
  ...props
}: ComponentProps<typeof BaseButton> & { kind?: keyof typeof kinds; busy?: boolean }) {
  return (
    <BaseButton
      {...props}
      disabled={busy || props.disabled}
      focusableWhenDisabled={busy}
      aria-busy={busy || undefined}
      className={`inline-flex h-9 items-center justify-center gap-2 rounded-lg px-4 font-medium transition disabled:opacity-60 aria-busy:opacity-60 ${kinds[kind]}`}
    />
  );
}
