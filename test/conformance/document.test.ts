import { replayCases } from './replay.ts'

replayCases('document')
