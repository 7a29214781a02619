import { prepare } from './prepare.mjs'

prepare({ all: true })
