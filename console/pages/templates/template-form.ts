import { ApiProblem } from "../../api/problem.ts";
import type { NewTemplate } from "../../api/templates.ts";

export const empty_template = {
  chat_number_id: "",
  name: "",
  language: "en",
  category: "MARKETING",
  header: "",
  body: "",
  examples: "",
  footer: "",
  buttons: "",
};

type Fields = typeof empty_template;

const listOf = (text: string) =>
  text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");

type Component = NewTemplate["components"][number];

/** The components that were filled in, each with the field that its violations belong to. */
function componentsOf({ header, body, examples, footer, buttons }: Fields) {
  const values = listOf(examples);
  const all: readonly { readonly field: keyof Fields; readonly component: Component | null }[] = [
    {
      field: "header",
      component: header === "" ? null : { type: "HEADER", format: "TEXT", text: header },
    },
    {
      field: "body",
      component: {
        type: "BODY",
        text: body,
        ...(values.length === 0 ? {} : { example: { body_text: [values] } }),
      },
    },
    { field: "footer", component: footer === "" ? null : { type: "FOOTER", text: footer } },
    {
      field: "buttons",
      component:
        listOf(buttons).length === 0
          ? null
          : {
              type: "BUTTONS",
              buttons: listOf(buttons).map((text) => ({ type: "QUICK_REPLY" as const, text })),
            },
    },
  ];
  return all.flatMap(({ field, component }) => (component ? [{ field, component }] : []));
}

/** Builds the request from the form. */
export function templateOf(fields: Fields): NewTemplate {
  const { chat_number_id, name, language, category } = fields;
  return {
    chat_number_id: Number(chat_number_id),
    name,
    language,
    category: category as NewTemplate["category"],
    components: componentsOf(fields).map(({ component }) => component),
  };
}

/** Renames the fields of a refusal, such as `components.1.text`, to those of the form. */
export function toFormFields(error: Error, fields: Fields): Error {
  if (!(error instanceof ApiProblem)) return error;
  const components = componentsOf(fields);
  const errors = error.errors.map(({ field, reason }) => {
    const [, index, part] = /^components\.(\d+)(?:\.(\w+))?/.exec(field) ?? [];
    if (index === undefined) return { field, reason };
    const of_form = part === "example" ? "examples" : components[Number(index)]?.field;
    return { field: of_form ?? "body", reason };
  });
  const { status, type, message, request_id } = error;
  return new ApiProblem(status, type, message, { errors, request_id });
}
