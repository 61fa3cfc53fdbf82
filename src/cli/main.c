/* s3lect: leader election on an object store, as a command. */
#include <fcntl.h>
#include <s3lect.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "text.h"

#define NEEDED_FDS 24

static int print_help(cli_command_t command) {
  cli_help(command);
  return cli_flush();
}

static int print_version(void) {
  printf("s3lect %s\n", s3lect_version_string());
  return cli_flush();
}

static int unknown_command(const char* word, const char* hint) {
  const char* what = word[0] == '-' ? "option" : "command";
  if (hint != NULL)
    cli_say("unknown %s %.200s: did you mean %s?", what, word, hint);
  else
    cli_say("unknown %s %.200s: the commands are %s (s3lect --help)", what, word,
            cli_command_names());
  return CLI_EXIT_USAGE;
}

static int help_command(const char* name) {
  const char* hint = NULL;
  if (name == NULL)
    return print_help(0);
  cli_command_t command = cli_command_find(name, &hint);
  return command != 0 ? print_help(command) : unknown_command(name, hint);
}

/* Checks that enough files can be opened for a loop and the first requests, because libuv aborts
 * without a message otherwise. The limit alone does not tell: descriptors may be inherited. */
static bool has_descriptors(void) {
  int fds[NEEDED_FDS], n = 0;
  while (n < NEEDED_FDS && (fds[n] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0)
    n++;
  bool enough = n == NEEDED_FDS;
  if (!enough)
    cli_say("only %d more files can be opened, and %d are needed: raise the limit (ulimit -n)", n,
            NEEDED_FDS);
  while (n > 0)
    close(fds[--n]);
  return enough;
}

static int dispatch(cli_command_t command, int argc, char** argv) {
  static cli_options_t options;
  s3lect_error_t error;
  if (cli_options_parse(&options, command, argc - 2, argv + 2, &error) != 0) {
    cli_say("%s", error.text);
    return CLI_EXIT_USAGE;
  }
  options.title = argv[0];
  for (int i = 0; i < argc && argv[i] == options.title + options.title_len; i++)
    options.title_len += strlen(argv[i]) + 1;
  if (options.help)
    return print_help(command);
  if (!has_descriptors())
    return CLI_EXIT_FAILED;
  if (cli_pipes_copy(&options, &error) != 0) {
    cli_say("%s", error.text);
    return CLI_EXIT_USAGE;
  }
  return cli_command_run(&options);
}

/* The loop would reuse a closed standard descriptor, and events would be written into it. */
static bool open_standard_fds(void) {
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
      return false;
  return true;
}

int main(int argc, char** argv) {
  const char* hint = NULL;
  if (!open_standard_fds()) {
    cli_say(
        "standard input, output or error is closed, and /dev/null cannot be opened in its place");
    return CLI_EXIT_FAILED;
  }
  if (argc < 2) {
    cli_say("no command: the commands are %s (s3lect --help)", cli_command_names());
    return CLI_EXIT_USAGE;
  }
  const char* word = argv[1];
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
    return print_help(0);
  if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 || strcmp(word, "version") == 0)
    return print_version();
  if (strcmp(word, "help") == 0)
    return help_command(argc > 2 ? argv[2] : NULL);
  cli_command_t command = cli_command_find(word, &hint);
  if (command == 0)
    return unknown_command(word, hint);
  cli_say_name(cli_command_name((int)command));
  return dispatch(command, argc, argv);
}
