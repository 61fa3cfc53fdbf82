#include "options.h"

#include <stdio.h>
#include <string.h>

#include "options_table.h"
#include "values.h"

static int unknown_option(cli_command_t command, const char* dashes, const char* word, size_t len,
                          char message[CLI_MESSAGE_SIZE]) {
  const cli_option_t* near = cli_option_nearest(command, word, len);
  const cli_option_t* other = cli_option_find(word, len);
  int shown = len > 200 ? 200 : (int)len;
  if (other != NULL && (other->commands & (int)command) == 0) {
    cli_format(message, CLI_MESSAGE_SIZE,
               "--%s is no option of this command: it belongs to s3lect %s", other->name,
               cli_command_name((other->commands & CLI_RUN) != 0 ? CLI_RUN : other->commands));
    return S3LECT_EOPTION;
  }
  if (near != NULL)
    cli_format(message, CLI_MESSAGE_SIZE, "unknown option %s%.*s: did you mean --%s?", dashes,
               shown, word, near->name);
  else
    cli_format(message, CLI_MESSAGE_SIZE, "unknown option %s%.*s: s3lect %s --help lists them",
               dashes, shown, word, cli_command_name((int)command));
  return S3LECT_EOPTION;
}

static int add_to_list(cli_list_t* list, const cli_option_t* option, const char* value,
                       char message[CLI_MESSAGE_SIZE]) {
  if (list->len == CLI_LIST_MAX) {
    cli_format(message, CLI_MESSAGE_SIZE, "--%s is given too often: at most %d times", option->name,
               CLI_LIST_MAX);
    return S3LECT_EOPTION;
  }
  list->all[list->len++] = value;
  return 0;
}

static int set_value(cli_options_t* options, const cli_option_t* option, const char* value,
                     char message[CLI_MESSAGE_SIZE]) {
  char* field = (char*)options + option->offset;
  if (value == NULL) {
    cli_format(message, CLI_MESSAGE_SIZE, "--%s needs a value: --%s %s", option->name, option->name,
               option->meta);
    return S3LECT_EOPTION;
  }
  if (value[0] == '\0') {
    cli_format(message, CLI_MESSAGE_SIZE, "--%s is empty: give it a value, --%s %s", option->name,
               option->name, option->meta);
    return S3LECT_EOPTION;
  }
  if (option->kind == CLI_KIND_STRING) {
    memcpy(field, &value, sizeof value);
    return 0;
  }
  if (option->kind == CLI_KIND_LIST)
    return add_to_list((cli_list_t*)(void*)field, option, value, message);
  char why[CLI_MESSAGE_SIZE];
  uint32_t number;
  int r = option->kind == CLI_KIND_RATE ? cli_rate_parse(value, &number, why)
                                        : cli_duration_parse(value, &number, why);
  if (r != 0)
    cli_format(message, CLI_MESSAGE_SIZE, "--%s %s", option->name, why);
  else
    memcpy(field, &number, sizeof number);
  return r;
}

/* Reads the option at argv[*i], and its value from there or from the next word. */
static int parse_option(cli_options_t* options, int argc, char** argv, int* i,
                        char message[CLI_MESSAGE_SIZE]) {
  const char* word = argv[*i] + 2;
  const char* equals = strchr(word, '=');
  size_t len = equals != NULL ? (size_t)(equals - word) : strlen(word);
  const cli_option_t* option = cli_option_find(word, len);
  if (option == NULL || (option->commands & (int)options->command) == 0)
    return unknown_option(options->command, "--", word, len, message);
  if (option->meta == NULL) {
    if (equals != NULL) {
      cli_format(message, CLI_MESSAGE_SIZE, "--%s takes no value: leave %.200s away", option->name,
                 equals);
      return S3LECT_EOPTION;
    }
    if (option->kind == CLI_KIND_HELP)
      options->help = true;
    else
      memcpy((char*)options + option->offset, &option->flag, sizeof option->flag);
    return 0;
  }
  const char* value = equals != NULL ? equals + 1 : NULL;
  if (equals == NULL && *i + 1 < argc && strncmp(argv[*i + 1], "--", 2) != 0)
    value = argv[++*i];
  return set_value(options, option, value, message);
}

int cli_options_parse(cli_options_t* options, cli_command_t command, int argc, char** argv,
                      char message[CLI_MESSAGE_SIZE]) {
  *options = (cli_options_t){.command = command};
  message[0] = '\0';
  for (int i = 0; i < argc; i++) {
    if (strcmp(argv[i], "-h") == 0) {
      options->help = true;
    } else if (strcmp(argv[i], "--") == 0 || argv[i][0] != '-') {
      char** rest = argv + i + (argv[i][0] == '-' ? 1 : 0);
      if (command == CLI_RUN) {
        options->child_argv = *rest != NULL && **rest != '\0' ? rest : NULL;
        break;
      }
      if (*rest == NULL)
        break;
      cli_format(message, CLI_MESSAGE_SIZE,
                 "unexpected argument %.200s: s3lect %s takes options only", *rest,
                 cli_command_name((int)command));
      return S3LECT_EOPTION;
    } else if (argv[i][1] != '-') {
      return unknown_option(command, "-", argv[i] + 1, strlen(argv[i] + 1), message);
    } else {
      int r = parse_option(options, argc, argv, &i, message);
      if (r != 0)
        return r;
    }
    if (options->help)
      return 0;
  }
  return cli_options_check(options, message);
}
