/** The formats of a dump. In a file of its own, so that `--help` does not load the readers. */
export const FORMAT_NAMES = ['cardea', 'document', 'multi-model'] as const

/** What is imported: a plain list, too, which is never written. */
export const IMPORT_FORMATS = [...FORMAT_NAMES, 'csv'] as const

export type ImportFormat = (typeof IMPORT_FORMATS)[number]

export type FormatName = (typeof FORMAT_NAMES)[number]
