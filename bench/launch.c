// launch.c: launch PROGRAM: starts PROGRAM with the current time (ns) as its argument, so that it can
// say how long it took from before the fork. Linked with no library under test.
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: launch PROGRAM\n");
    return 2;
  }
  char start[40];
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  snprintf(start, sizeof start, "%lld%09ld", (long long)t.tv_sec, t.tv_nsec);
  pid_t child = fork();
  if (child == 0) {
    execl(argv[1], argv[1], start, (char *)NULL);
    perror(argv[1]);
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0) {
    perror("launch");
    return 1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
