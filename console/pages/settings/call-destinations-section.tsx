import { useState, type RefCallback } from "react";
import { useController } from "react-hook-form";
import { countryName, countryNames, country_codes } from "../../messages/countries.ts";
import { CheckList } from "../../ui/check-list.tsx";
import type { FormValues } from "../../ui/form-fields.tsx";
import { TextField } from "../../ui/text-field.tsx";
import {
  SettingPanel,
  useSettingForm,
  Warning,
  type SectionProps,
  type SettingForm,
} from "./setting-form.tsx";

/** Lists that are longer can be searched. */
const short_list = 12;

type Scope = "all" | "some" | "none";

const scopeOf = (destinations: readonly string[] | null): Scope => {
  if (destinations === null || destinations.includes("*")) return "all";
  return destinations.length === 0 ? "none" : "some";
};

const patchOf = ({ scope, destinations }: FormValues) => ({
  destinations: scope === "some" ? destinations : scope === "none" ? [] : null,
});

/** The countries that the account calls, of those that its operator allows. */
export function CallDestinationsSection({ account: { calls }, onChanged }: SectionProps) {
  const { destinations, destinations_allowed: allowed } = calls;
  const scope = scopeOf(destinations);
  const form = useSettingForm({
    values: { scope, destinations: scope === "some" ? inOrder(destinations ?? []) : [] },
    names: ["destinations"],
    section: "calls",
    patchOf,
    onChanged,
  });
  const chosen = form.watch("scope") as Scope;
  const scopes = [
    { value: "all", label: "All that the operator allows", text: allowedText(allowed) },
    {
      value: "some",
      label: "Only some of them",
      text: "Campaigns skip recipients elsewhere, and a click-to-call to elsewhere is refused.",
    },
    {
      value: "none",
      label: "None",
      text: "No phone number is called, neither a customer's nor an agent's.",
    },
  ] as const;
  return (
    <SettingPanel
      title="Countries to call"
      text="Numbers that charge the caller more, such as premium-rate numbers and satellite phones, are never called."
      form={form}
    >
      <fieldset className="flex flex-col gap-3">
        <legend className="sr-only">Countries to call</legend>
        {scopes.map(({ value, label, text }) => (
          <label key={value} className="flex items-start gap-2">
            <input type="radio" value={value} className="mt-1" {...form.register("scope")} />
            <span className="min-w-0">
              {label}
              <span className="text-muted block text-xs wrap-anywhere">{text}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {chosen === "some" && <Countries allowed={allowed} form={form} />}
    </SettingPanel>
  );
}

function allowedText(allowed: readonly string[]): string {
  if (allowed.includes("*")) return "Every country.";
  return allowed.length === 0 ? "It allows none." : `${countryNames(inOrder(allowed))}.`;
}

/** Sorts countries by their names. */
const inOrder = (codes: readonly string[]) =>
  codes.toSorted((a, b) => countryName(a).localeCompare(countryName(b), "en"));

/** The countries to choose from; one that the operator no longer allows stays until it is removed. */
function Countries({
  allowed,
  form: { control, formState },
}: {
  readonly allowed: readonly string[];
  readonly form: SettingForm;
}) {
  const { field } = useController({
    control,
    name: "destinations",
    rules: {
      validate: (codes, { scope }) =>
        scope !== "some" || (codes as string[]).length > 0 || "Choose at least one country.",
    },
  });
  const chosen = field.value as readonly string[];
  const [search, setSearch] = useState("");
  const offered = allowed.includes("*") ? country_codes : allowed;
  const saved = inOrder((formState.defaultValues?.["destinations"] ?? []) as readonly string[]);
  // Those that are saved come first, where they are seen.
  const known = [...saved, ...inOrder(offered).filter((code) => !saved.includes(code))];
  const shown = known.filter((code) => matches(code, search));
  const choose = (code: string, isChosen: boolean) =>
    field.onChange(
      inOrder(known.filter((each) => (each === code ? isChosen : chosen.includes(each)))),
    );
  return (
    <div className="flex flex-col gap-3">
      {known.length > short_list && <CountrySearch value={search} onChange={setSearch} />}
      <CheckList
        legend="Countries"
        count={known.length}
        error={formState.errors["destinations"]?.message}
      >
        {shown.length === 0 && <p className="text-muted">No country matches.</p>}
        <div className="grid gap-x-4 gap-y-2 sm:grid-cols-2">
          {shown.map((code, index) => (
            <Country
              key={code}
              // An error moves the focus to the first.
              focus={index === 0 ? field.ref : undefined}
              code={code}
              checked={chosen.includes(code)}
              isAllowed={offered.includes(code)}
              onChange={(isChosen) => choose(code, isChosen)}
            />
          ))}
        </div>
      </CheckList>
      <p className="text-muted text-xs" role="status">
        {chosen.length === 0 ? "None chosen yet." : `Chosen: ${countryNames(chosen)}.`}
      </p>
    </div>
  );
}

/** Reports whether a search finds a country, by a part of its name or its code. */
function matches(code: string, search: string): boolean {
  const words = search.trim().toLowerCase();
  return countryName(code).toLowerCase().includes(words) || code.toLowerCase() === words;
}

function CountrySearch({
  value,
  onChange,
}: {
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  return (
    <TextField
      label="Find a country"
      name="country"
      type="search"
      placeholder="Name or code, such as AE"
      value={value}
      onValueChange={onChange}
      // It would save the section.
      onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
    />
  );
}

function Country({
  focus,
  code,
  checked,
  isAllowed,
  onChange,
}: {
  readonly focus: RefCallback<HTMLInputElement> | undefined;
  readonly code: string;
  readonly checked: boolean;
  readonly isAllowed: boolean;
  readonly onChange: (isChosen: boolean) => void;
}) {
  return (
    <label className="flex items-start gap-2">
      <input
        type="checkbox"
        ref={focus}
        className="mt-1"
        checked={checked}
        onChange={({ target }) => onChange(target.checked)}
      />
      <span className="min-w-0">
        {countryName(code)}
        {!isAllowed && (
          <span className="text-xs">
            <Warning>
              Not called: the operator no longer allows it. Remove it before you save.
            </Warning>
          </span>
        )}
      </span>
    </label>
  );
}
