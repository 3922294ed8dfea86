/** A server of two worker processes gives the recorded responses. The long form replays all cases. */
import { replayCases } from './replay.ts'

const IS_LONG = process.env['TEST_LONG'] !== undefined

replayCases('document', { workers: 2, only: IS_LONG ? undefined : ['session'] })
if (IS_LONG) replayCases('multi-model', { workers: 2 })
