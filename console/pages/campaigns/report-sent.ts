import { toasts } from "../../ui/toasts.tsx";

/** Reports a campaign whose page the user may not see: its name and ID stay until they are dismissed. */
export function reportSent(
  id: number,
  { name, scheduled_at }: { readonly name: string; readonly scheduled_at: string },
): void {
  toasts.add({
    title: `“${name}” ${scheduled_at === "" ? "is on its way" : "is scheduled"}`,
    description: `It is campaign ${id}. Your role may not see its page.`,
    timeout: 0,
  });
  document.querySelector<HTMLElement>("h1")?.focus();
}
