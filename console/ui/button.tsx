import { Button as BaseButton } from "@base-ui/react/button";
import type { ComponentProps } from "react";

const kinds = {
  primary: "bg-accent text-on-accent hover:brightness-110",
  plain: "border border-line bg-panel hover:bg-hover",
  quiet: "hover:bg-hover",
  danger: "bg-danger text-on-accent hover:brightness-110",
} as const;

export type ButtonKind = keyof typeof kinds;

/** The classes of a button, for a link that looks like one. */
export function buttonClass(kind: ButtonKind = "plain"): string {
  return `inline-flex h-9 shrink-0 items-center justify-center gap-2 rounded-lg px-3.5 font-medium whitespace-nowrap transition disabled:opacity-60 aria-busy:opacity-60 ${kinds[kind]}`;
}

/** A button. While `busy` it stays focusable and does nothing, so that a double click acts once. */
export function Button({
  kind = "plain",
  busy = false,
  className = "",
  ...props
}: ComponentProps<typeof BaseButton> & {
  readonly kind?: ButtonKind;
  readonly busy?: boolean;
  readonly className?: string;
}) {
  return (
    <BaseButton
      {...props}
      disabled={busy || props.disabled}
      focusableWhenDisabled={busy}
      aria-busy={busy || undefined}
      className={`${buttonClass(kind)} ${className}`}
    />
  );
}
