import type { FieldErrors, UseFormRegister, UseFormSetError } from "react-hook-form";
import { get } from "react-hook-form";
import { ApiProblem } from "../api/problem.ts";
import type { Option } from "./option.ts";
import { SelectField } from "./select-field.tsx";
import { showFieldErrors } from "./show-field-errors.ts";
import { TextAreaField } from "./text-area-field.tsx";
import { TextField } from "./text-field.tsx";

/** A field of a form that is one object of the API. */
export type FormField = {
  /** As in the API; `ari.url` is a field of a part of the object. */
  readonly name: string;
  readonly label: string;
  readonly note?: string;
  readonly kind: "text" | "long" | "password" | "time" | "number" | "check" | "lines" | "choice";
  /** What an empty field means, which is null; without it, a value is required. */
  readonly empty?: string;
  /** Of a choice. One of numbers is sent as a number. Of a text: suggestions. */
  readonly options?: readonly Option[];
};

export type FormValues = Record<string, unknown>;

/** What the API takes and answers. */
type Known = string | number | boolean | readonly string[] | null;

/** The inputs of a form, each with the server's error under it. */
export function FormInputs({
  fields,
  register,
  errors,
}: {
  readonly fields: readonly FormField[];
  readonly register: UseFormRegister<FormValues>;
  readonly errors: FieldErrors<FormValues>;
}) {
  return fields.map((field) => (
    <Input
      key={field.name}
      field={field}
      register={register}
      error={get<FieldErrors, { message?: string } | undefined>(errors, field.name)?.message}
    />
  ));
}

function Input({
  field: { name, label, kind, note, empty, options = [] },
  register,
  error,
}: {
  readonly field: FormField;
  readonly register: UseFormRegister<FormValues>;
  readonly error: string | undefined;
}) {
  const shared = { label, error, hint: note, ...register(name) };
  if (kind === "lines" || kind === "long") return <TextAreaField {...shared} />;
  if (kind === "choice")
    return (
      <SelectField
        {...shared}
        options={options}
        {...(empty === undefined ? {} : { placeholder: empty })}
      />
    );
  if (kind !== "check")
    return (
      <>
        <TextField
          {...shared}
          // Browsers hide an invalid number: as a text it is refused, and not taken for an empty field.
          {...(kind === "number" ? { inputMode: "numeric" } : { type: kind })}
          placeholder={empty}
          {...(kind === "password" ? { autoComplete: "new-password" } : {})}
          {...(options.length > 0 ? { list: `${name}-suggested` } : {})}
        />
        {options.length > 0 && (
          <datalist id={`${name}-suggested`}>
            {options.map(({ value }) => (
              <option key={value} value={value} />
            ))}
          </datalist>
        )}
      </>
    );
  return (
    <label className="flex items-center gap-2 self-end py-2">
      <input type="checkbox" {...register(name)} />
      {label}
    </label>
  );
}

/** Returns the fields for a known object: a choice always offers what is chosen, or the browser would clear it. */
export function withChosen(fields: readonly FormField[], known: object): readonly FormField[] {
  return fields.map((field) => {
    const value = get<object, Known | undefined>(known, field.name) ?? null;
    const { kind, options = [] } = field;
    if (kind !== "choice" || (typeof value !== "string" && typeof value !== "number")) return field;
    if (value === "" || options.some((one) => one.value === value)) return field;
    return { ...field, options: [...options, { value, label: `As it is (${value})` }] };
  });
}

/** Returns the parts of an object that differ from what it was, so that nobody else's change is undone. */
export function changedParts(before: FormValues, after: FormValues): FormValues {
  const parts = Object.entries(after);
  return Object.fromEntries(
    parts.filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])),
  );
}

/** Returns an API object's values for the form's fields. */
export function valuesOf(known: object, fields: readonly FormField[]): FormValues {
  const values: FormValues = {};
  for (const { name, kind } of fields) {
    const value = get<object, Known | undefined>(known, name) ?? null;
    put(values, name, value === null && kind === "check" ? false : valueOf(value));
  }
  return values;
}

/** A value as its field has it. */
function valueOf(known: Known): string | boolean {
  if (typeof known === "boolean") return known;
  if (known === null) return "";
  return typeof known === "object" ? known.join("\n") : String(known);
}

/** The object of the API that the fields of a form say. */
export function jsonOf(values: FormValues, fields: readonly FormField[]): FormValues {
  const json: FormValues = {};
  for (const field of fields)
    put(json, field.name, knownOf(get<FormValues, string | boolean>(values, field.name), field));
  return json;
}

/** What a field says as the API takes it. */
function knownOf(value: string | boolean, { kind, empty, options = [] }: FormField): Known {
  if (typeof value !== "string") return value;
  if (kind === "lines") return value.split("\n").filter((line) => line.trim() !== "");
  if (value === "" && empty !== undefined) return null;
  if (kind === "choice") return options.find((one) => String(one.value) === value)?.value ?? value;
  return kind === "number" && /^\s*-?\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value;
}

/** Sets `ari.url` in the part `ari`. */
function put(target: FormValues, name: string, value: Known): void {
  const [part, rest] = name.split(".") as [string, string?];
  if (rest === undefined) target[part] = value;
  else (target[part] ??= {} as FormValues)[rest as never] = value as never;
}

/**
 * Shows each violation of a 422 at its field, also of one line of several, and returns the error if it belongs to none.
 * `section` is the part of the API's object that the form has, with the fields `names`.
 */
export function showFormErrors(
  error: Error,
  names: readonly string[],
  setError: UseFormSetError<FormValues>,
  section: string | null = null,
): Error | null {
  if (!(error instanceof ApiProblem)) return error;
  const errors = error.errors.map(({ field, reason }) => {
    const inForm = section === null ? field : field.replace(`${section}.`, "");
    const line = inForm.replace(/\.\d+(\.\w+)?$/, "");
    return { field: names.includes(inForm) ? inForm : line, reason };
  });
  const { status, type, message, request_id } = error;
  return showFieldErrors(
    new ApiProblem(status, type, message, { errors, request_id }),
    names,
    setError,
  );
}
