/** The formats of a dump. In a file of its own, so that `--help` does not load the readers. */
export const FORMAT_NAMES = ['cardea', 'document', 'multi-model'] as const

export type FormatName = (typeof FORMAT_NAMES)[number]
