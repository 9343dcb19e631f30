// What was said to the caller, item by item, so that the server can be told how much of it was heard.
import { bytes_per_ms } from "../../../lib/audio/audio.ts";
import type { CallMedia } from "../../call-media.ts";
import type { ServerEvent } from "./read-server-event.ts";
import { openDecoder, type Decoder, type SoundFormat } from "./sound-format.ts";

/** Items whose sound may still be waiting. */
const items_max = 8;
/** A server that is this far ahead of the caller's ears is broken. */
const queued_ms_max = 600_000;

/** Of an item that was cut off, so much was heard. */
export type Cut = {
  readonly item: string;
  readonly content_index: number;
  readonly heard_ms: number;
};

type Sound = Extract<ServerEvent, { type: "sound" }>;
type Item = Pick<Sound, "answer" | "item" | "content_index"> & {
  /** Null: all of it came. */
  decoder: Decoder | null;
  written_ms: number;
};

export type Playback = {
  /** Plays it after all before; false when too much is waiting, and it was not taken. */
  readonly play: (sound: Sound) => boolean;
  /** All of the last item came. */
  readonly finish: () => void;
  /**
   * Silent at once. Gives what was not heard to its end; `going_on`: the answer of which more would come, so
   * that its last item counts as cut off even if all that came of it was heard.
   */
  readonly cut: (going_on: string | null) => readonly Cut[];
};

export function openPlayback(media: CallMedia, format: SoundFormat): Playback {
  let items: Item[] = [];
  const write = (item: Item, samples: Buffer) => {
    item.written_ms += samples.length / bytes_per_ms;
    if (samples.length > 0) media.write(samples);
  };
  const finish = () => {
    const item = items.at(-1);
    if (!item?.decoder) return;
    write(item, item.decoder.rest());
    item.decoder = null;
  };
  return {
    play({ answer, item: name, content_index, sound }) {
      if (media.queued_ms() > queued_ms_max) return false;
      let item = items.at(-1);
      if (item?.item !== name || item.content_index !== content_index) {
        finish();
        item = { answer, item: name, content_index, decoder: null, written_ms: 0 };
        items = [...items.slice(1 - items_max), item];
      }
      item.decoder ??= openDecoder(format);
      write(item, item.decoder.push(sound));
      return true;
    },
    finish,
    cut(going_on) {
      let left_ms = media.queued_ms();
      media.flush();
      const cuts: Cut[] = [];
      for (const item of items.toReversed()) {
        const unheard_ms = Math.min(left_ms, item.written_ms);
        left_ms -= unheard_ms;
        const heard_ms = Math.max(0, Math.floor(item.written_ms - unheard_ms));
        if (unheard_ms > 0 || (item === items.at(-1) && item.answer === going_on))
          cuts.push({ item: item.item, content_index: item.content_index, heard_ms });
      }
      items = [];
      return cuts.toReversed();
    },
  };
}
