#include "store/file/open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <uv.h>

#include "store/file/key.h"

#define DIR_FLAGS     (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define FILE_FLAGS    (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
#define READ_WRITE    0600
#define GROUP_WRITES  0020
#define OTHERS_WRITE  0002
#define GROUP_BOTH    0060
#define PERMISSIONS   0777
#define NEW_FILE_MODE 0666 /* less the umask */

static int last_error(void) {
  /* What open(2) says of a symbolic link, and of a socket. */
  if (errno == ELOOP || errno == EMLINK || errno == ENXIO)
    return UV_EFTYPE;
  return -errno;
}

static int close_with(int fd, int err) {
  (void)close(fd);
  return err;
}

/* ---- Who may use what ---- */

static bool belongs(int store, const struct stat* st) {
  struct stat dir;
  if (fstat(store, &dir) != 0)
    return false;
  return (dir.st_mode & S_ISVTX) == 0 || st->st_uid == geteuid() || st->st_uid == dir.st_uid ||
         st->st_uid == 0;
}

/* Gives the users who may write to the directory access to a new file, beside the permissions
 * `also`. A file that root makes in a user's directory becomes the user's. Errors are ignored: some
 * file systems have no owners or permissions. */
static void share(int store, int fd, mode_t also) {
  struct stat dir;
  mode_t mode = READ_WRITE | also;
  if (fstat(store, &dir) != 0)
    return;
  bool group = (dir.st_mode & GROUP_WRITES) != 0 && (dir.st_mode & S_ISVTX) == 0;
  if (geteuid() == 0 || group) {
    uid_t owner = geteuid() == 0 ? dir.st_uid : (uid_t)-1;
    if (fchown(fd, owner, dir.st_gid) != 0)
      group = false; /* the file's group is another one */
  }
  (void)fchmod(fd, group ? mode | GROUP_BOTH : mode);
}

static int check_file(int store, const struct stat* st) {
  if (S_ISDIR(st->st_mode))
    return UV_EISDIR;
  if (!S_ISREG(st->st_mode))
    return UV_EFTYPE;
  return belongs(store, st) ? 0 : UV_EPERM;
}

/* ---- Directories ---- */

static int check_store(const char* directory, int fd, s3lect_error_t* error) {
  struct stat st;
  if (fstat(fd, &st) != 0)
    return s3l_error_say(error, last_error(), "directory", directory, "%s", strerror(errno));
  if ((st.st_mode & OTHERS_WRITE) == 0)
    return 0;
  if ((st.st_mode & S_ISVTX) == 0)
    return s3l_error_say(error, UV_EPERM, "directory", directory,
                         "every user may write to it, and so make two leaders; use a directory "
                         "that only the electors' user or group may write to (chmod o-w)");
  if (st.st_uid != geteuid() && st.st_uid != 0)
    return s3l_error_say(error, UV_EPERM, "directory", directory,
                         "every user may write to it, and another user owns it; use a directory "
                         "that only the electors' user or group may write to");
  return 0;
}

int s3l_file_open_store(const char* directory, s3lect_error_t* error) {
  if (directory == NULL || directory[0] == '\0')
    return s3l_error_say(error, S3LECT_EOPTION, "directory", NULL,
                         "missing; name the one that is to hold the lockfile");
  int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT)
    return s3l_error_say(error, UV_ENOENT, "directory", directory,
                         "there is no such directory; make it first");
  if (fd < 0 && errno == ENOTDIR)
    return s3l_error_say(error, UV_ENOTDIR, "directory", directory, "this is not a directory");
  if (fd < 0)
    return s3l_error_say(error, last_error(), "directory", directory, "cannot be used: %s",
                         strerror(errno));
  int err = check_store(directory, fd, error);
  return err == 0 ? fd : close_with(fd, err);
}

static int open_part(int store, int dir, const char* part, s3l_walk_t how) {
  struct stat st;
  bool made = how == S3L_WALK_MAKE && mkdirat(dir, part, READ_WRITE | S_IXUSR) == 0;
  int fd = openat(dir, part, DIR_FLAGS);
  if (fd < 0)
    return errno == ENOTDIR ? UV_EFTYPE : last_error();
  if (made && fstat(store, &st) == 0)
    share(store, fd, st.st_mode & PERMISSIONS);
  if (fstat(fd, &st) != 0)
    return close_with(fd, last_error());
  return belongs(store, &st) ? fd : close_with(fd, UV_EPERM);
}

int s3l_file_open_dir(int store, const char* path, s3l_walk_t how, const char** name) {
  char part[S3L_FILE_PART_MAX + 8];
  int fd = openat(store, ".", DIR_FLAGS);
  if (fd < 0)
    return last_error();
  for (;;) {
    if (how == S3L_WALK_SYNC && fsync(fd) != 0)
      return close_with(fd, last_error());
    size_t n = strcspn(path, "/");
    if (path[n] == '\0')
      break;
    if (n >= sizeof(part))
      return close_with(fd, UV_ENAMETOOLONG);
    memcpy(part, path, n);
    part[n] = '\0';
    int next = open_part(store, fd, part, how);
    (void)close(fd);
    if (next < 0)
      return next;
    fd = next;
    path += n + 1;
  }
  *name = path;
  return fd;
}

/* ---- Files ---- */

int s3l_file_open_old(int store, int dir, const char* name, struct stat* st) {
  int fd = openat(dir, name, O_RDONLY | FILE_FLAGS);
  if (fd < 0)
    return last_error();
  int err = fstat(fd, st) != 0 ? last_error() : check_file(store, st);
  return err == 0 ? fd : close_with(fd, err);
}

int s3l_file_open_new(int store, const char* name) {
  struct stat st;
  int fd = openat(store, name, O_WRONLY | O_CREAT | O_EXCL | FILE_FLAGS, NEW_FILE_MODE);
  if (fd < 0)
    return last_error();
  if (fstat(fd, &st) == 0)
    share(store, fd, st.st_mode & PERMISSIONS);
  return fd;
}

/* ---- The lock ---- */

static int open_lock(int store, struct stat* st) {
  int fd = openat(store, S3L_FILE_LOCK, O_RDWR | FILE_FLAGS);
  if (fd < 0 && errno == ENOENT) {
    fd = openat(store, S3L_FILE_LOCK, O_RDWR | O_CREAT | O_EXCL | FILE_FLAGS, READ_WRITE);
    if (fd < 0 && errno == EEXIST)
      return UV_EAGAIN;
  }
  if (fd < 0)
    return last_error();
  int err = fstat(fd, st) != 0 ? last_error() : check_file(store, st);
  if (err != 0)
    return close_with(fd, err);
  /* Corrects the permissions of a lock file of this user. The lock file is empty, unless another
   * file was moved to its name. */
  if (st->st_uid == geteuid() && st->st_nlink == 1 && st->st_size == 0)
    share(store, fd, 0);
  return fd;
}

/* The lock file must still be the one that other processes open: it may have been removed by hand,
 * or by a cleaner of old files. Each use gives it a new time, so that it does not look old. */
int s3l_file_lock(int store) {
  struct stat mine, theirs;
  int fd = open_lock(store, &mine);
  if (fd < 0)
    return fd;
  if (flock(fd, LOCK_EX | LOCK_NB) != 0)
    return close_with(fd, errno == EINTR ? UV_EAGAIN : last_error());
  if (fstatat(store, S3L_FILE_LOCK, &theirs, AT_SYMLINK_NOFOLLOW) != 0 ||
      mine.st_ino != theirs.st_ino || mine.st_dev != theirs.st_dev) {
    s3l_file_unlock(fd);
    return UV_EAGAIN;
  }
  (void)futimens(fd, NULL);
  return fd;
}

int64_t s3l_file_now_ms(int store) {
  struct stat st;
  int64_t ms = 0;
  int fd = s3l_file_open_old(store, store, S3L_FILE_LOCK, &st);
  if (fd < 0)
    return 0;
  if (futimens(fd, NULL) == 0 && fstat(fd, &st) == 0)
    ms = s3l_file_ms(st.S3L_ST_MTIM);
  (void)close(fd);
  return ms;
}

void s3l_file_unlock(int fd) {
  (void)flock(fd, LOCK_UN);
  (void)close(fd);
}
