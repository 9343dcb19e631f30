import { FileText } from "lucide-react";
import type { Template } from "../../api/chat.ts";
import { makeTemplatePlan, messageText, renderMessage } from "../../from-server.ts";

type Message = Extract<ReturnType<typeof renderMessage>, { message: unknown }>["message"];
type TemplateMessage = Extract<Message, { kind: "template" }>;

/** What Meta's format of a component has for people to see. */
type Component = {
  readonly type: string;
  readonly format?: string;
  readonly text?: string;
  readonly buttons?: readonly { readonly type?: string; readonly text?: string }[];
};

const button_class =
  "bg-panel text-accent max-w-[92%] rounded-xl p-2 text-center font-medium shadow-sm";
const media_words: Readonly<Record<string, string>> = {
  IMAGE: "Picture",
  VIDEO: "Video",
  DOCUMENT: "Document",
  LOCATION: "Place",
};

/** A quick reply that was pressed: `payload` decides whether it is an opt-out. */
type PressedButton = { readonly text: string; readonly payload: string };

/** A template's message with a recipient's variables, made by the code that sends it, or what it lacks. */
export function RenderedBubble({
  template,
  variables,
  onPress,
}: {
  readonly template: Template;
  readonly variables: Readonly<Record<string, string>> | null;
  readonly onPress?: (button: PressedButton) => void;
}) {
  const rendered = renderMessage(makeTemplatePlan(template), variables, "preview");
  if ("missing" in rendered) return <MissingValues keys={rendered.missing} />;
  if (rendered.message.kind !== "template") return null;
  return <TemplateBubble template={template} message={rendered.message} onPress={onPress} />;
}

export function MissingValues({ keys }: { readonly keys: readonly string[] }) {
  return (
    <p className="bg-warning-soft text-warning rounded-xl p-3">
      No value for {keys.map((key) => `{{${key}}}`).join(", ")}. Without one, this message fails.
    </p>
  );
}

/** The message in the template's text. Without `onPress`, its buttons are only shown. */
export function TemplateBubble({
  template,
  message,
  onPress,
}: {
  readonly template: Template;
  readonly message: TemplateMessage;
  readonly onPress?: ((button: PressedButton) => void) | undefined;
}) {
  const components = template.components as readonly Component[];
  const partOf = (type: string) => components.find((component) => component.type === type);
  const { header, body, footer } = messageText(template, message);
  const format = partOf("HEADER")?.format ?? "TEXT";
  const buttons = partOf("BUTTONS")?.buttons ?? [];
  const pressed = (text: string, at: number): PressedButton => {
    const value = message.buttons.find(({ index }) => index === at);
    return { text, payload: value?.type === "quick_reply" ? value.payload : text };
  };
  return (
    <>
      <div className="bg-panel max-w-[92%] rounded-xl rounded-tl-none p-3 wrap-anywhere whitespace-pre-wrap shadow-sm">
        {format !== "TEXT" && (
          <p className="text-muted bg-hover mb-2 flex items-center gap-2 rounded-lg p-4 text-xs">
            <FileText aria-hidden className="size-4" />
            {media_words[format] ?? format}
          </p>
        )}
        {header !== null && (
          <p dir="auto" className="font-semibold">
            {header}
          </p>
        )}
        <p dir="auto">{body}</p>
        {footer !== null && (
          <p dir="auto" className="text-muted mt-1 text-xs">
            {footer}
          </p>
        )}
      </div>
      {buttons.map(({ type, text = "Copy code" }, index) =>
        onPress && type === "QUICK_REPLY" ? (
          <button
            key={index}
            type="button"
            onClick={() => onPress(pressed(text, index))}
            className={button_class}
          >
            {text}
          </button>
        ) : (
          <p key={index} className={button_class}>
            {text}
          </p>
        ),
      )}
    </>
  );
}
