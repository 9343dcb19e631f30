import { useQuery } from "@tanstack/react-query";
import type { FieldErrors, UseFormRegister } from "react-hook-form";
import { aiAgentsQuery, menusQuery, type VoiceFile } from "../../../api/voice.ts";
import { SelectField } from "../../../ui/select-field.tsx";
import { TextAreaField } from "../../../ui/text-area-field.tsx";
import { TextField } from "../../../ui/text-field.tsx";
import { key_options, machine_options } from "./file-words.ts";
import { SpeechPreview } from "./speech-preview.tsx";

/** The settings of a voice file, as texts of a form. */
export type SettingValues = {
  name: string;
  script: string;
  language: string;
  menu_id: string;
  ai_agent_id: string;
  opt_out_key: string;
  answering_machine: VoiceFile["answering_machine"];
};

export const empty_settings: SettingValues = {
  name: "",
  script: "",
  language: "en",
  menu_id: "",
  ai_agent_id: "",
  opt_out_key: "",
  answering_machine: "off",
};

export const setting_names = [
  "name",
  "script",
  "language",
  "menu_id",
  "ai_agent_id",
  "opt_out_key",
  "answering_machine",
] as const;

type Props = {
  readonly register: UseFormRegister<SettingValues>;
  readonly errors: FieldErrors<SettingValues>;
};

export function NameField({ register, errors }: Props) {
  return (
    <TextField
      label="Name"
      error={errors.name?.message}
      hint="Only your team sees it."
      {...register("name", { required: "Enter a name" })}
    />
  );
}

/** The script that is synthesized for each person, and how it sounds. */
export function ScriptFields({
  register,
  errors,
  script,
  language,
}: Props & { readonly script: string; readonly language: string }) {
  return (
    <>
      <TextAreaField
        label="Script"
        rows={5}
        error={errors.script?.message}
        hint="Values in double braces: {{name}} must be given, {{name|there}} has a default."
        {...register("script")}
      />
      <SpeechPreview text={script} language={language} />
    </>
  );
}

/** The menu, the AI agent, and what keys and machines do. */
export function CallFields({ register, errors }: Props) {
  const { data: menus } = useQuery(menusQuery);
  const { data: agents } = useQuery(aiAgentsQuery);
  // A select drops a value for which it has no option yet, and saving would clear it.
  if (!menus || !agents) return <p className="text-muted">Loading…</p>;
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <SelectField
        label="Menu"
        placeholder="None"
        options={menus.map(({ id, name }) => ({ value: id, label: name }))}
        error={errors.menu_id?.message}
        hint="For menu campaigns."
        {...register("menu_id")}
      />
      <SelectField
        label="AI agent"
        placeholder="None"
        options={agents.map(({ id, name }) => ({ value: id, label: name }))}
        error={errors.ai_agent_id?.message}
        hint="For AI agent campaigns."
        {...register("ai_agent_id")}
      />
      <SelectField
        label="Key to opt out"
        placeholder="None"
        options={key_options}
        error={errors.opt_out_key?.message}
        hint="Who presses it while the audio or the script plays is not called again."
        {...register("opt_out_key")}
      />
      <SelectField
        label="If a machine answers"
        options={machine_options}
        error={errors.answering_machine?.message}
        {...register("answering_machine")}
      />
    </div>
  );
}
