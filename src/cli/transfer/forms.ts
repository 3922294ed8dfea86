import type { FormatName } from '../../transfer/formats.ts'

/** The forms of a dump, as the command line names them. Here so that `--help` need not load what reads them. */
export const FORMS: readonly FormatName[] = ['cardea', 'document', 'multi-model']
