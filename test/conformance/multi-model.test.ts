import { replayCases } from './replay.ts'

replayCases('multi-model')
