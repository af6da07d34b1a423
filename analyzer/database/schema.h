/* schema.h - schema.sql inside the program. */
#ifndef MEMANA_SCHEMA_H
#define MEMANA_SCHEMA_H

#define SCHEMA_APPLICATION_ID 0x6d656d61 /* "mema" */
#define SCHEMA_VERSION 5                 /* a database of another version is made again */

/* Ends in NUL. */
extern const char schema_sql[];

#endif
